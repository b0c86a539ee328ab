//! Behaviour: which challenges to take, and how one game is played from start to end.
