//! Which changes of a makefile are told, and which are honest work.

use super::*;

const MAKE: &str = "# How to test\n.PHONY: all test lint\nCC = cc\nRUN = $(PY) -m\nPY=python3\nSTAMP = .done\n\nall: $(STAMP)\n\t$(CC) a.c\n\ntest: all\n\t$(RUN) pytest\n\nlint:\n\techo lint\n\ntest-%:\n\t$(RUN) pytest $*\n$(STAMP):\n\ttouch $@\n-include $(DEPS)\n";

fn changed(name: &str, before: &str, now: &str) -> String {
    let set = BTreeSet::from(["OWN".to_owned()]);
    let around = MakeAround {
        name,
        beside: "RULES = other\nfrom-beside:\n\ttrue\n",
        set: &set,
        first_target_runs: false,
        is_there: &|target| target == "Makefile",
    };
    changed_make((before, now), &around).join(" | ")
}

/// What in the makefile becomes what: all of it is honest work.
#[rustfmt::skip]
const FAIR: &[[&str; 2]] = &[
    ["\n\ntest: all", "\n\n\n# more\n   # words\ntest: all"],
    [".PHONY: all test lint", ".PHONY: all \\\n  test\n.PHONY: lint"],
    [".PHONY: all test lint", ".PHONY: all test lint fmt docs"],
    ["touch $@\n", "touch $@\n\nfmt:\n\tblack .\n\n.PHONY: fmt\n"],
    ["\ntest: all", "\nfmt docs: all $(RUN) | lint ; true # words\n\t@echo $(shell ls)\n\t# words\n\ntest: all"],
    ["# How", "run:\n\tpython3 sol.py\n# How"],
    ["touch $@\n", "touch $@\ndocs/index.html:\n\ttrue\n"],
    ["touch $@\n", "touch $@\nfmt::\nsub/run:\n\techo\n"],
    ["CC = cc\n", "CC = cc\nFMT = black $(PY) ${CC}\nEMPTY :=\nFMT_ARGS ?= -q\n"],
    ["touch $@\n", "touch $@\n\n\n"],
];

/// The same with what is told.
#[rustfmt::skip]
const TOLD: &[[&str; 3]] = &[
    ["$(CC) a.c", "$(CC) a.c b.c", "all"],
    ["CC = cc", "CC = gcc", "CC"],
    [".PHONY: all test lint", ".PHONY: all lint", ".PHONY test"],
    [".PHONY: all test lint", "ifdef NEVER\n.PHONY: all test lint\nendif", "ifdef NEVER | .PHONY: all test lint | endif | .PHONY all | .PHONY lint | .PHONY test"],
    [".PHONY: all test lint", ".PHONY: all test lint from-beside", ".PHONY from-beside"],
    ["pytest\n", "pytest || true\n", "test"],
    ["pytest\n", "pytest\n\ttrue\n", "test"],
    ["test: all\n", "test: all\nother:\n", "test | other:"],
    ["PY=python3", "PY=true", "PY"],
    ["CC = cc", "CC = cc\nPY := true", "PY := true"],
    ["CC = cc", "CC = cc\nRULES = x", "RULES = x"],
    ["CC = cc", "CC = cc\nOWN = x", "OWN = x"],
    ["CC = cc", "CC = cc\nCFLAGS = x", "CFLAGS = x"],
    ["CC = cc", "CC = cc\nPYTHONPATH = x", "PYTHONPATH = x"],
    ["CC = cc", "CC = cc\nX := $(shell rm a)", "X := $(shell rm a)"],
    ["CC = cc", "CC = cc\nX != rm a", "X != rm a"],
    ["CC = cc", "CC = cc\nexport X = a", "export X = a"],
    ["CC = cc", "CC = cc\nX = 1\n\tSHELL = /bin/true", "X = 1"],
    ["# How", "  SHELL = /bin/true\n# How", "SHELL = /bin/true"],
    ["# How", "\tSHELL = /bin/true\n# How", "SHELL = /bin/true"],
    ["# How", "$(eval SHELL := /bin/true)\n# How", "$(eval SHELL := /bin/true)"],
    ["# How", "define SHELL\n/bin/true\nendef\n# How", "define SHELL"],
    ["# How", "include other\n# How", "include other"],
    ["# How", ".IGNORE:\n# How", ".IGNORE:"],
    ["# How", "%: SHELL = /bin/true\n# How", "%: SHELL = /bin/true"],
    ["# How", "t%:\n\ttrue\n# How", "t%:"],
    ["# How", "test-a:\n\ttrue\n# How", "test-a:"],
    ["# How", "from-beside: fmt\n# How", "from-beside: fmt"],
    ["# How", ".done:\n# How", ".done:"],
    ["# How", "fmt: X = 1\n# How", "fmt: X = 1"],
    ["# How", "fmt: $(eval PY=true)\n# How", "fmt: $(eval PY=true)"],
    ["# How to test\n", "# How to test \\\n", ".PHONY all | .PHONY lint | .PHONY test"],
    ["# How", "Makefile: fmt\n\ttrue\n# How", "Makefile: fmt"],
    ["# How", "lint.o:\n\ttrue\n# How", "lint.o:"],
    ["# How", "s.lint:\n\ttrue\n# How", "s.lint:"],
    ["lint:\n\techo lint\n", "", "lint"],
    ["-include $(DEPS)\n", "", "-include $(DEPS)"],
];

#[test]
fn what_cannot_touch_the_makefile_that_was_there_is_fair_and_all_else_is_told() {
    assert_eq!(changed("Makefile", MAKE, MAKE), "");
    for [from, to] in FAIR {
        let now = MAKE.replacen(from, to, 1);
        assert_ne!(now, MAKE, "{from}");
        assert_eq!(changed("Makefile", MAKE, &now), "", "{from} -> {to}");
    }
    for [from, to, told] in TOLD {
        let now = MAKE.replacen(from, to, 1);
        assert_ne!(now, MAKE, "{from}");
        assert_eq!(&changed("Makefile", MAKE, &now), told, "{from} -> {to}");
    }
}

#[test]
fn a_recipe_is_not_taken_from_its_rule() {
    let make = "test:\nifdef CI\n\ttrue\nelse\n\t./run\nendif\n\ndefine BODY\n./run\nendef\n";
    for (from, to, told) in [
        ("ifdef CI\n", "fmt:\nifdef CI\n", "ifdef CI"),
        ("ifdef CI\n", ".PHONY: fmt\nifdef CI\n", "ifdef CI"),
        ("./run\nendef", "true\nendef", "BODY"),
        ("endif\n", "endif\nfmt:\n\techo\n", ""),
        ("define", "fmt:\n\techo\n\ndefine", ""),
    ] {
        let now = make.replacen(from, to, 1);
        let found = changed("rules.mk", make, &now);
        assert!(
            found.starts_with(told) && found.is_empty() == told.is_empty(),
            "{to}: {found}"
        );
    }
}

#[test]
fn a_makefile_where_none_was_is_told_where_it_speaks_of_tests() {
    let now = "all:\n\tcc a.c\nCHECK = 1\ncheck: all\n\t./a\n";
    let speaks = |name: &str| name.contains("check");
    assert_eq!(new_make("Makefile", now, &speaks), ["check"]);
}

#[test]
fn the_first_target_is_told_where_it_runs_and_justfiles_have_their_own_words() {
    let set = BTreeSet::new();
    let around = |name, first_target_runs| MakeAround {
        name,
        beside: "",
        set: &set,
        first_target_runs,
        is_there: &|_| false,
    };
    let both = ("a:\n\ttrue\n", "b:\n\ttrue\na:\n\ttrue\n");
    assert!(changed_make(both, &around("Makefile", false)).is_empty());
    assert_eq!(
        changed_make(both, &around("Makefile", true)),
        ["first target"]
    );
    let just = "py := 'python3'\n\ntest *args:\n    {{py}} -m pytest {{args}}\n";
    for (to, told) in [
        ("\nfmt path='.': test\n    black {{path}}\n\ntest", ""),
        ("\n# words\n@fmt:\n  black .\ntest", ""),
        ("\nwords := 'a b'\ntest", ""),
        ("\nwords := `rm a`\ntest", "words := `rm a`"),
        ("\nset shell := ['true']\ntest", "set shell := ['true']"),
        ("\nimport 'a'\ntest", "import 'a'"),
        ("\nmod x: y\ntest", "mod x: y"),
    ] {
        let now = just.replacen("\ntest", to, 1);
        let found = changed_make((just, &now), &around("justfile", false));
        assert_eq!(found.join(" | "), told, "{to}");
    }
}
