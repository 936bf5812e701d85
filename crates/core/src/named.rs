//! Enums whose variants have names in Python and in messages.

/// Gives an enum of plain variants its names: `ALL`, `name` and `from_name`.
macro_rules! named {
    ($Enum:ident { $($Variant:ident = $name:literal,)* }) => {
        impl $Enum {
            /// Every variant, in declaration order.
            pub const ALL: [$Enum; [$($name),*].len()] = [$($Enum::$Variant),*];

            /// The name in Python and in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Enum::$Variant => $name,)*
                }
            }

            /// The variant of that name.
            pub fn from_name(name: &str) -> Option<$Enum> {
                match name {
                    $($name => Some($Enum::$Variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use named;
