//! `knightwatch init`: a few questions, then a configuration and a token file.
