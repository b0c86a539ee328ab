//! Polyglot opening books: reader, selection, builder, and the embedded default book.
