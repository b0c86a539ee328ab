//! Simulator, bot and sparring partners in one process, told in the terminal.
