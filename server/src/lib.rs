//! Fanlight's hub as a library, and what its clients share.
