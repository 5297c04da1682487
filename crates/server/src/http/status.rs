//! The status that an error has.

use chalet_base::{ErrorCode, codes};

/// What a proxy or a browser makes of an error; clients of the kernel look at its code.
pub fn of_error(code: ErrorCode) -> u16 {
    match code {
        codes::REQUIRED_PASSWORD => 401,
        codes::AUTHENTICATION_FAILED
        | codes::WRONG_PASSWORD
        | codes::UNKNOWN_USER
        | codes::ACCESS_DENIED
        | codes::DATABASE_ACCESS_DENIED => 403,
        codes::BAD_ARGUMENTS
        | codes::BAD_QUERY_PARAMETER
        | codes::CANNOT_PARSE_TEXT
        | codes::CANNOT_PARSE_ESCAPE_SEQUENCE
        | codes::CANNOT_PARSE_QUOTED_STRING
        | codes::CANNOT_PARSE_DATE
        | codes::CANNOT_PARSE_DATETIME
        | codes::CANNOT_PARSE_NUMBER
        | codes::CANNOT_PARSE_UUID
        | codes::CANNOT_PARSE_IPV4
        | codes::CANNOT_PARSE_IPV6
        | codes::CANNOT_PARSE_INPUT_ASSERTION_FAILED
        | codes::DUPLICATE_COLUMN
        | codes::ILLEGAL_COLUMN
        | codes::THERE_IS_NO_COLUMN
        | codes::UNKNOWN_ELEMENT_IN_AST
        | codes::TOO_DEEP_AST
        | codes::TOO_BIG_AST
        | codes::SYNTAX_ERROR
        | codes::INCORRECT_DATA
        | codes::TYPE_MISMATCH
        | codes::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE => 400,
        codes::UNKNOWN_TABLE
        | codes::UNKNOWN_FUNCTION
        | codes::UNKNOWN_IDENTIFIER
        | codes::UNKNOWN_TYPE
        | codes::UNKNOWN_STORAGE
        | codes::UNKNOWN_DATABASE
        | codes::UNKNOWN_SETTING
        | codes::UNKNOWN_AGGREGATE_FUNCTION
        | codes::UNKNOWN_FORMAT
        | codes::UNKNOWN_DATABASE_ENGINE
        | codes::SESSION_NOT_FOUND => 404,
        codes::QUERY_IS_TOO_LARGE => 413,
        codes::NOT_IMPLEMENTED => 501,
        codes::SOCKET_TIMEOUT | codes::CANNOT_OPEN_FILE | codes::CANNOT_SCHEDULE_TASK => 503,
        codes::HTTP_LENGTH_REQUIRED => 411,
        codes::TIMEOUT_EXCEEDED => 408,
        _ => 500,
    }
}

/// The words behind a status.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Request Entity Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
