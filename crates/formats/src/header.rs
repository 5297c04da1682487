//! What stands before the rows of a text file: nothing, names, or names and types.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    None,
    Names,
    NamesAndTypes,
}

impl Header {
    pub fn has_names(self) -> bool {
        self != Header::None
    }

    pub fn has_types(self) -> bool {
        self == Header::NamesAndTypes
    }

    /// Lines that the header takes.
    pub fn lines(self) -> usize {
        match self {
            Header::None => 0,
            Header::Names => 1,
            Header::NamesAndTypes => 2,
        }
    }
}
