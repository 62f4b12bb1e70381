//! What the reader prefers, kept in the browser: how the page looks and moves. The styles read it from attributes of the
//! root element.

use crate::browser;

/// A preference that the styles read: its name, what it is called, and its values with their names. The first value leaves
/// the choice to the system.
pub(crate) struct Setting {
    /// Its name in the browser's storage, and behind `data-` on the root element.
    pub(crate) name: &'static str,
    /// What it is called.
    pub(crate) title: &'static str,
    /// Values and what they are called.
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// All of them.
pub(crate) const SETTINGS: [Setting; 3] = [
    Setting {
        name: "theme",
        title: "Colours",
        values: &[("system", "System"), ("light", "Light"), ("dark", "Dark")],
    },
    Setting { name: "contrast", title: "Contrast", values: &[("system", "System"), ("more", "High")] },
    Setting { name: "motion", title: "Motion", values: &[("system", "System"), ("less", "None")] },
];

/// Puts all of them into effect.
pub(crate) fn apply() {
    let Some(root) = browser::document().document_element() else { return };
    for setting in &SETTINGS {
        let attribute = format!("data-{}", setting.name);
        match browser::setting(setting.name).filter(|value| value != "system") {
            Some(value) => drop(root.set_attribute(&attribute, &value)),
            None => drop(root.remove_attribute(&attribute)),
        }
    }
}
