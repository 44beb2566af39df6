//! Writing the Prometheus text format.

use std::fmt::{Display, Write as _};

use interlingua_runtime::Histogram;

/// Kind of a family of samples.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Text with families of samples.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    /// Name of the family that samples belong to.
    name: &'static str,
}

impl Text {
    /// Starts a family. The samples that follow belong to it.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        self.name = name;
        // Writing to a string does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        self
    }

    /// Adds a sample with labels.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, None, value);
    }

    /// Adds the samples of a histogram.
    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        for (bound, count) in histogram.buckets() {
            self.line("_bucket", labels, Some(("le", &bound.to_string())), count);
        }
        self.line("_bucket", labels, Some(("le", "+Inf")), histogram.count());
        self.line("_sum", labels, None, histogram.sum().as_secs_f64());
        self.line("_count", labels, None, histogram.count());
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], last: Option<(&str, &str)>, value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut separator = '{';
        for (name, value) in labels.iter().copied().chain(last) {
            let value = value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            let _ = write!(self.text, "{separator}{name}=\"{value}\"");
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Text::default();
        text.family("x", Kind::Gauge, "Help.").sample(&[("a", "q\"b\\c\n"), ("d", "")], 1.5);
        assert_eq!(text.into_string(), "# HELP x Help.\n# TYPE x gauge\nx{a=\"q\\\"b\\\\c\\n\",d=\"\"} 1.5\n");
    }
}
