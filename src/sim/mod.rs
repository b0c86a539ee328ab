//! A Lichess on localhost: routes, referee and clocks, sparring users, faults.
