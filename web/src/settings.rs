//! Settings of the reader for the look of the page, kept in the browser. The styles read them from attributes
//! of the root element.

use crate::browser;

/// A setting that the styles read. Its first value leaves the choice to the system.
pub(crate) struct Setting {
    /// The name in the browser's storage, and of the attribute after `data-`.
    pub(crate) name: &'static str,
    /// The label on the page.
    pub(crate) title: &'static str,
    /// The values, each with its label.
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// All settings of the styles.
pub(crate) const SETTINGS: [Setting; 3] = [
    Setting {
        name: "theme",
        title: "Colours",
        values: &[("system", "System"), ("light", "Light"), ("dark", "Dark")],
    },
    Setting { name: "contrast", title: "Contrast", values: &[("system", "System"), ("more", "High")] },
    Setting { name: "motion", title: "Motion", values: &[("system", "System"), ("less", "None")] },
];

/// Applies all settings to the page.
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
