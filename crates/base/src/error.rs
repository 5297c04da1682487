//! The one error type of the engine: a ClickHouse error code, its name and a message in the user's words.

use std::cell::Cell;
use std::fmt;

/// A number and a name of ClickHouse's list of error codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode {
    pub number: i32,
    pub name: &'static str,
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.number, self.name)
    }
}

/// An error that reaches the user as `Code: N. DB::Exception: message. (NAME)`.
///
/// Boxed, so that `Result<T>` stays one word or two wider than `T`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Repr);

#[derive(Clone, PartialEq, Eq)]
enum Repr {
    /// What [`err!`](crate::err!) makes inside [`discard_messages`]: nothing is allocated for it.
    Code(&'static ErrorCode),
    Full(Box<Inner>),
}

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    message: String,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error(Repr::Full(Box::new(Inner { code, message: message.into() })))
    }

    /// What [`err!`](crate::err!) makes.
    #[cold]
    pub fn formatted(code: ErrorCode, message: fmt::Arguments) -> Self {
        Error::new(code, fmt::format(message))
    }

    /// What [`err!`](crate::err!) makes inside [`discard_messages`].
    #[cold]
    pub fn without_message(code: &'static ErrorCode) -> Self {
        Error(Repr::Code(code))
    }

    pub fn code(&self) -> ErrorCode {
        match &self.0 {
            Repr::Code(code) => **code,
            Repr::Full(inner) => inner.code,
        }
    }

    /// The message without code and name.
    pub fn message(&self) -> &str {
        match &self.0 {
            Repr::Code(_) => "",
            Repr::Full(inner) => &inner.message,
        }
    }

    /// Adds what the thrower could not know (a file, a row, a column), after the message.
    #[cold]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        use fmt::Write;
        if are_messages_discarded() {
            return self;
        }
        if let Repr::Full(inner) = &mut self.0 {
            // Writing to a String cannot fail.
            let _ = write!(inner.message, ": {context}");
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, message) = (self.code(), self.message());
        write!(f, "Code: {}. DB::Exception: {message}. ({})", code.number, code.name)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

thread_local! {
    static MESSAGES_DISCARDED: Cell<bool> = const { Cell::new(false) };
}

/// Is this thread inside [`discard_messages`]?
#[cold]
#[inline(never)]
pub fn are_messages_discarded() -> bool {
    MESSAGES_DISCARDED.get()
}

/// Runs what fails for many values and whose errors nobody sees: those that [`err!`](crate::err!) makes inside have a code and no message,
/// since formatting one costs more than reading a value. No error may leave the closure other than by its code.
pub fn discard_messages<R>(work: impl FnOnce() -> R) -> R {
    /// Restores the state also where the work panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            MESSAGES_DISCARDED.set(self.0);
        }
    }
    let _restore = Restore(MESSAGES_DISCARDED.replace(true));
    work()
}

/// Builds an [`Error`]: `err!(BAD_ARGUMENTS, "Size {n} is too large")`. The first word is a name of [`codes`](crate::codes).
#[macro_export]
macro_rules! err {
    ($code:ident, $($arg:tt)+) => {
        // What the message is made of is not even computed when it is discarded.
        if $crate::error::are_messages_discarded() {
            $crate::Error::without_message(&$crate::codes::$code)
        } else {
            $crate::Error::formatted($crate::codes::$code, format_args!($($arg)+))
        }
    };
}

/// Returns early with an [`Error`], see [`err!`].
#[macro_export]
macro_rules! bail {
    ($code:ident, $($arg:tt)+) => {
        return Err($crate::err!($code, $($arg)+))
    };
}

/// Returns early with an [`Error`] unless the condition holds, see [`err!`].
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $code:ident, $($arg:tt)+) => {
        if !$condition {
            $crate::bail!($code, $($arg)+);
        }
    };
}
