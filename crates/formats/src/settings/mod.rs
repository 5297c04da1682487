//! `FormatSettings`: one field per format setting of the kernel, under its name and with its default.

mod list;
mod paths;
mod values;

pub use list::FormatSettings;
pub use paths::Paths;
pub use values::*;

/// One row of `system.settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    pub name: &'static str,
    /// The kernel's name of the value's kind.
    pub kind: &'static str,
    pub value: String,
    pub default: String,
}

/// Declares the struct, its defaults, and access by name.
macro_rules! settings {
    ($($name:ident: $kind:ty = $default:expr,)*) => {
        /// Settings of readers and writers. Fields are named exactly as the settings.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FormatSettings {
            $(pub $name: $kind,)*
            /// What the paths mean that some of them name.
            pub paths: Paths,
        }

        impl Default for FormatSettings {
            fn default() -> Self {
                FormatSettings { $($name: $default,)* paths: Paths::default() }
            }
        }

        impl FormatSettings {
            /// Sets one setting from its text; `false` when no format setting has that name.
            pub fn set(&mut self, name: &str, text: &str) -> chalet_base::Result<bool> {
                match name {
                    $(stringify!($name) => self.$name = SettingValue::parse(text)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// The text of one setting's value.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.print()),)*
                    _ => None,
                }
            }

            /// Every setting, by name.
            pub fn list(&self) -> Vec<SettingInfo> {
                fn kind<T: SettingValue>(_: &T) -> &'static str {
                    T::KIND
                }
                let defaults = FormatSettings::default();
                vec![$(SettingInfo {
                    name: stringify!($name),
                    kind: kind(&self.$name),
                    value: self.$name.print(),
                    default: defaults.$name.print(),
                },)*]
            }
        }
    };
}
use settings;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_and_get() {
        let mut settings = FormatSettings::default();
        assert!(settings.set("format_csv_delimiter", ";").unwrap());
        assert_eq!(settings.format_csv_delimiter, Char(b';'));
        assert!(!settings.set("max_threads", "1").unwrap());
        assert_eq!(settings.set("format_csv_delimiter", "ab").unwrap_err().code().number, 19);
        assert_eq!(settings.get("output_format_pretty_max_rows").as_deref(), Some("1000"));
        let listed = settings.list();
        assert!(listed.windows(2).all(|w| w[0].name < w[1].name));
        for info in listed {
            assert!(settings.set(info.name, &info.default).unwrap(), "{}", info.name);
        }
        assert_eq!(settings, FormatSettings::default());
    }
}
