//! Who may come in, and what they may do.

use crate::quotas::Quota;
use chalet_base::{Result, bail, ensure};
use chalet_engine::{FileAccess, Identity};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;

/// What a user has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password {
    /// Nothing.
    None,
    /// What has this SHA-256.
    Sha256([u8; 32]),
}

impl Password {
    /// Of a text in the clear; an empty one is none.
    pub fn of_text(text: &str) -> Password {
        if text.is_empty() { Password::None } else { Password::Sha256(digest(text)) }
    }

    /// Of a SHA-256 in hexadecimal digits.
    pub fn of_sha256(digits: &str) -> Result<Password> {
        let digits = digits.trim();
        let mut bytes = [0; 32];
        ensure!(
            digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
            BAD_ARGUMENTS,
            "A SHA-256 has 64 hexadecimal digits"
        );
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).unwrap_or_default();
            *byte = u8::from_str_radix(pair, 16).unwrap_or_default();
        }
        Ok(Password::Sha256(bytes))
    }

    fn is(&self, given: &str) -> bool {
        match self {
            Password::None => true,
            // As long whatever the digests have in common.
            Password::Sha256(known) => {
                known.iter().zip(digest(given)).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
            }
        }
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// A user.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub password: Password,
    /// As the setting of this name: 0 may change data, 1 only reads, 2 only reads and may change settings.
    pub readonly: u8,
    /// Files that their statements may name.
    pub files: FileAccess,
    /// What they may have of the server, if that is limited.
    pub quota: Option<Arc<Quota>>,
}

impl User {
    /// `default`, who needs no password and may do everything but read the files of the machine.
    pub fn default_user(files: FileAccess) -> User {
        User { name: "default".into(), password: Password::None, readonly: 0, files, quota: None }
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { user: self.name.as_str().into(), files: self.files.clone() }
    }
}

/// All who may come in.
#[derive(Clone, Debug)]
pub struct Users(Vec<User>);

impl Users {
    /// Fails where two have one name.
    pub fn new(users: Vec<User>) -> Result<Users> {
        for (i, user) in users.iter().enumerate() {
            ensure!(!user.name.is_empty(), BAD_ARGUMENTS, "A user without a name");
            ensure!(
                users[..i].iter().all(|other| other.name != user.name),
                BAD_ARGUMENTS,
                "There are two users of the name {}",
                user.name
            );
            ensure!(user.readonly <= 2, BAD_ARGUMENTS, "readonly of user {} is 0, 1 or 2", user.name);
        }
        Ok(Users(users))
    }

    /// Does somebody need no password?
    pub fn has_open_door(&self) -> bool {
        self.0.iter().any(|user| user.password == Password::None)
    }

    /// The user of this name, if that is the password. An error does not say which of the two is wrong.
    pub(crate) fn authenticate(&self, name: &str, password: &str) -> Result<User> {
        let name = if name.is_empty() { "default" } else { name };
        let found = self.0.iter().find(|user| user.name == name);
        match found.filter(|user| user.password.is(password)) {
            Some(user) => Ok(user.clone()),
            None => bail!(
                AUTHENTICATION_FAILED,
                "{name}: Authentication failed: password is incorrect, or there is no user with such name"
            ),
        }
    }
}

/// Is an address one that no other machine reaches?
pub(crate) fn is_of_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords() {
        let of_digits =
            Password::of_sha256("2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b").unwrap();
        assert_eq!(of_digits, Password::of_text("secret"));
        assert!(of_digits.is("secret") && !of_digits.is("Secret") && !of_digits.is(""));
        assert!(Password::of_text("").is("anything"));
        assert!(Password::of_sha256("12").is_err() && Password::of_sha256(&"x".repeat(64)).is_err());
    }

    #[test]
    fn names() {
        let user = |name: &str| User { name: name.into(), ..User::default_user(FileAccess::Nothing) };
        assert!(Users::new(vec![user("a"), user("a")]).is_err());
        let users = Users::new(vec![user("a")]).unwrap();
        assert!(users.authenticate("a", "x").is_ok());
        assert_eq!(users.authenticate("", "").unwrap_err().code().number, 516);
    }
}
