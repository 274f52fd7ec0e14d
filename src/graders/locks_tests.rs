//! Which changes of lock files lead elsewhere, and which are what honest installing writes.

use super::*;

const NPM: &str = r#"{"lockfileVersion":3,"packages":{
"":{"name":"app","workspaces":["packages/*"]},
"node_modules/uvu":{"version":"0.5.6","resolved":"https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz","dev":true},
"node_modules/own":{"resolved":"packages/own","link":true},
"packages/own":{"version":"1.0.0"}}}"#;

const OLD_NPM: &str = r#"{"lockfileVersion":1,"dependencies":{
"uvu":{"version":"0.5.6","resolved":"https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz","dependencies":{"mri":{"version":"1.0.0"}}}}}"#;

const YARN: &str = "uvu@^0.5.6:\n  version \"0.5.6\"\n  resolved \"https://registry.yarnpkg.com/uvu/-/uvu-0.5.6.tgz#aa\"\n";
const BERRY: &str = "\"uvu@npm:^0.5.6\":\n  version: 0.5.6\n  resolution: \"uvu@npm:0.5.6\"\n\n\"app@workspace:.\":\n  resolution: \"app@workspace:.\"\n";
const PNPM: &str = "importers:\n  .:\n    devDependencies:\n      uvu:\n        specifier: ^0.5.6\n        version: 0.5.6\npackages:\n  uvu@0.5.6:\n    resolution: {integrity: sha512-x}\n";
const BUN: &str = "{\n  \"packages\": {\n    \"uvu\": [\"uvu@0.5.6\", \"\", { \"bin\": { \"uvu\": \"bin.js\" } }, \"sha512-x\"],\n  }\n}\n";
const UV: &str = "version = 1\n[[package]]\nname = 'app'\nsource = { editable = '.' }\n[[package]]\nname = 'pytest'\nversion = '8'\nsource = { registry = 'https://pypi.org/simple' }\nwheels = [{ url = 'https://files/pytest.whl' }]\n";
const POETRY: &str =
    "[[package]]\nname = 'pytest'\nversion = '8'\nfiles = [{ file = 'pytest.whl', hash = 'x' }]\n";

/// The file before, what in it becomes what, and what is told.
#[rustfmt::skip]
const CASES: &[(Lock, &str, &str, &str, &str)] = &[
    (Lock::Npm, NPM, "0.5.6\",\"res", "0.5.7\",\"res", ""),
    (Lock::Npm, NPM, "\"packages/own\":", "\"node_modules/left\":{\"version\":\"1.0.0\",\"resolved\":\"https://r/left/-/left-1.0.0.tgz\"},\"packages/own\":", ""),
    (Lock::Npm, NPM, "\"packages/own\":", "\"node_modules/new\":{\"resolved\":\"packages/new\",\"link\":true},\"packages/own\":", ""),
    (Lock::Npm, NPM, "\"packages/own\":", "\"node_modules/new\":{\"resolved\":\"lib/new\",\"link\":true},\"packages/own\":", "node_modules/new"),
    (Lock::Npm, NPM, "\"resolved\":\"https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz\"", "\"resolved\":\"packages/uvu\",\"link\":true", "node_modules/uvu"),
    (Lock::Npm, NPM, "https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz", "file:evil.tgz", "node_modules/uvu"),
    (Lock::Npm, NPM, "https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz", "git+ssh://git@x/uvu.git#1", "node_modules/uvu"),
    (Lock::Npm, NPM, "https://registry.npmjs.org/uvu/-/uvu-0.5.6.tgz", "https://x/evil.tgz", "node_modules/uvu"),
    (Lock::Npm, OLD_NPM, "\"version\":\"1.0.0\"", "\"version\":\"1.1.0\"", ""),
    (Lock::Npm, OLD_NPM, "\"version\":\"1.0.0\"", "\"version\":\"file:lib/mri\"", "node_modules/uvu/node_modules/mri"),
    (Lock::Npm, OLD_NPM, "\"version\":\"1.0.0\"", "\"version\":\"npm:other@1\"", ""),
    (Lock::Npm, OLD_NPM, "{", "[", "unreadable"),
    (Lock::Lines, YARN, "uvu@", "left@^1:\n  version \"1\"\n  resolved \"https://registry.yarnpkg.com/left/-/left-1.0.0.tgz#bb\"\nuvu@", ""),
    (Lock::Lines, YARN, "https://registry.yarnpkg.com/uvu/-/uvu-0.5.6.tgz#aa", "file:evil.tgz", "resolved \"file:evil.tgz\""),
    (Lock::Lines, YARN, "https://registry.yarnpkg.com/uvu/-/uvu-0.5.6.tgz#aa", "./evil.tgz", "resolved \"./evil.tgz\""),
    (Lock::Lines, BERRY, "version: 0.5.6\n", "version: 0.5.7\n", ""),
    (Lock::Lines, BERRY, "\"app@w", "\"own@workspace:packages/own\":\n  resolution: \"own@workspace:packages/own\"\n\n\"app@w", ""),
    (Lock::Lines, BERRY, "\"app@w", "\"typescript@patch:typescript@^5#optional!builtin<compat/typescript>\":\n  version: 5\n\n\"app@w", ""),
    (Lock::Lines, BERRY, "uvu@npm:0.5.6", "uvu@workspace:lib/uvu", "resolution: \"uvu@workspace:lib/uvu\""),
    (Lock::Lines, BERRY, "uvu@npm:0.5.6", "uvu@portal:lib/uvu", "resolution: \"uvu@portal:lib/uvu\""),
    (Lock::Lines, PNPM, "uvu@0.5.6:", "link@1.0.0:\n    deprecated: see https://x/file:y\n    dependencies:\n      link: 1.0.0\n  uvu@0.5.6:", ""),
    (Lock::Lines, PNPM, "version: 0.5.6", "version: link:lib/uvu", "version: link:lib/uvu"),
    (Lock::Lines, PNPM, "{integrity: sha512-x}", "{directory: lib/uvu, type: directory}", "resolution: {directory: lib/uvu, type: directory}"),
    (Lock::Lines, PNPM, "{integrity: sha512-x}", "{tarball: file:x.tgz}", "resolution: {tarball: file:x.tgz}"),
    (Lock::Lines, BUN, "uvu@0.5.6", "uvu@0.5.7", ""),
    (Lock::Lines, BUN, "uvu@0.5.6", "uvu@file:lib/uvu", "\"uvu\": [\"uvu@file:lib/uvu\", \"\", { \"bin\": { \"uvu\": \"bin.js\" } }, \"sha512-x\"],"),
    (Lock::Packages, UV, "version = '8'", "version = '9'", ""),
    (Lock::Packages, UV, "version = 1\n", "version = 1\n[[package]]\nname = 'more'\nsource = { editable = 'packages/more' }\n", ""),
    (Lock::Packages, UV, "{ registry = 'https://pypi.org/simple' }", "{ editable = 'lib/pytest' }", "pytest"),
    (Lock::Packages, UV, "{ registry = 'https://pypi.org/simple' }", "{ path = 'wheels/pytest.whl' }", "pytest"),
    (Lock::Packages, UV, "{ registry = 'https://pypi.org/simple' }", "{ registry = 'wheels' }", "pytest"),
    (Lock::Packages, UV, "https://files/pytest.whl", "file:///pytest.whl", "pytest"),
    (Lock::Packages, POETRY, "version = '8'", "version = '9'", ""),
    (Lock::Packages, POETRY, "files", "source = { type = 'legacy', url = 'https://own/simple' }\nfiles", ""),
    (Lock::Packages, POETRY, "files", "source = { type = 'file', url = 'x.whl' }\nfiles", "pytest"),
];

#[test]
fn an_entry_of_a_lock_file_that_leads_elsewhere_is_told_where_it_is_new() {
    for (lock, before, from, to, told) in CASES {
        let now = before.replacen(from, to, 1);
        assert_ne!(&now, before, "{from}");
        let found = redirected(*lock, (Some(before), &now), &[]);
        let found = found.map_or("unreadable".to_owned(), |found| found.join(" "));
        assert_eq!(&found, told, "{from} -> {to}");
        // What was there is no news.
        if *told != "unreadable" {
            assert_eq!(
                redirected(*lock, (Some(&now), &now), &[]),
                Some(Vec::new()),
                "{to}"
            );
        }
    }
}

#[test]
fn a_new_lock_file_may_link_the_packages_of_the_projects_own_workspaces() {
    let own = ["packages/*".to_owned()];
    assert_eq!(redirected(Lock::Npm, (None, NPM), &own), Some(Vec::new()));
    let told = Some(vec!["node_modules/own".to_owned()]);
    assert_eq!(redirected(Lock::Npm, (None, NPM), &[]), told);
    for (lock, text) in [(Lock::Lines, BERRY), (Lock::Packages, UV)] {
        assert_eq!(redirected(lock, (None, text), &[]), Some(Vec::new()));
    }
}
