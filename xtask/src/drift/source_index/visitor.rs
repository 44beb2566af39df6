//! Collects the uses of paths and fields in a syntax tree.

use proc_macro2::Span;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, Member, Pat, Token};

use super::paths::{Paths, absolute};
use super::{ExhaustiveMatch, FieldUse, PathUse, Place, SourceIndex, UseKind};

/// Adds what a file contains to the index.
pub(super) fn visit(syntax: &syn::File, module: Vec<String>, file: usize, index: &mut SourceIndex, paths: &mut Paths) {
    Visitor { module, file, scopes: Vec::new(), self_type: None, index, paths }.visit_file(syntax);
}

struct Visitor<'a> {
    module: Vec<String>,
    file: usize,
    /// Numbers of the functions and match arms that are being visited, the innermost last.
    scopes: Vec<usize>,
    /// What `Self` stands for.
    self_type: Option<Vec<String>>,
    index: &'a mut SourceIndex,
    paths: &'a mut Paths,
}

impl Visitor<'_> {
    fn place(&self, span: Span) -> Place {
        Place { file: self.file, line: span.start().line }
    }

    /// The path from the root of the crate, before imports are resolved.
    fn absolute(&self, path: &syn::Path) -> Vec<String> {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match (segments.split_first(), &self.self_type) {
            (Some((first, rest)), Some(own)) if first == "Self" => [own.as_slice(), rest].concat(),
            _ => absolute(&self.module, &segments),
        }
    }

    fn add_path(&mut self, kind: UseKind, path: &syn::Path) {
        let (place, scope) = (self.place(path.span()), self.scopes.last().copied());
        let path = self.absolute(path);
        self.index.paths.push(PathUse { kind, path, place, scope });
    }

    fn add_field(&mut self, owner: Option<&syn::Path>, member: &Member) {
        if let Member::Named(name) = member {
            let (place, scopes) = (self.place(name.span()), self.scopes.clone());
            let owner = owner.map(|owner| self.absolute(owner));
            let name = name.to_string();
            let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
            self.index.fields.push(FieldUse { name, place, owner, scopes });
        }
    }

    fn visit_scope(&mut self, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(self.index.scopes);
        self.index.scopes += 1;
        visit(self);
        self.scopes.pop();
    }

    /// The paths of the variants that the arms of a `match` name. `None` if an arm is for any other value, or has a
    /// pattern that is not one of variants.
    fn arm_paths(&self, arms: &[syn::Arm]) -> Option<Vec<Vec<String>>> {
        let mut paths = Vec::new();
        for arm in arms {
            self.collect_variants(&arm.pat, &mut paths)?;
        }
        Some(paths)
    }

    fn collect_variants(&self, pattern: &Pat, paths: &mut Vec<Vec<String>>) -> Option<()> {
        match pattern {
            Pat::Or(or) => or.cases.iter().try_for_each(|case| self.collect_variants(case, paths)),
            Pat::Paren(inner) => self.collect_variants(&inner.pat, paths),
            Pat::Reference(inner) => self.collect_variants(&inner.pat, paths),
            Pat::Ident(binding) => self.collect_variants(&binding.subpat.as_ref()?.1, paths),
            Pat::TupleStruct(found) => {
                paths.push(self.absolute(&found.path));
                Some(())
            }
            Pat::Struct(found) => {
                paths.push(self.absolute(&found.path));
                Some(())
            }
            Pat::Path(found) => {
                paths.push(self.absolute(&found.path));
                Some(())
            }
            _ => None,
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
        });
        if is_test {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.paths.add_use(&self.module, &item.tree);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if let syn::Type::Path(target) = item.ty.as_ref() {
            let target: Vec<String> = target.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.paths.add_name(&self.module, item.ident.to_string(), &target);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let own = match item.self_ty.as_ref() {
            syn::Type::Path(own) => Some(self.absolute(&own.path)),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.self_type, own);
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.visit_scope(|visitor| visit::visit_item_fn(visitor, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.visit_scope(|visitor| {
            // A method accesses the fields of its own type.
            if let Some(path) = visitor.self_type.clone() {
                let (place, scope) = (visitor.place(item.sig.ident.span()), visitor.scopes.last().copied());
                visitor.index.paths.push(PathUse { kind: UseKind::Type, path, place, scope });
            }
            visit::visit_impl_item_fn(visitor, item);
        });
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        match pattern {
            Pat::TupleStruct(found) => self.add_path(UseKind::Pattern, &found.path),
            Pat::Struct(found) => self.add_path(UseKind::Pattern, &found.path),
            Pat::Path(found) => self.add_path(UseKind::Pattern, &found.path),
            _ => {}
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_pat_struct(&mut self, pattern: &'ast syn::PatStruct) {
        for field in &pattern.fields {
            self.add_field(Some(&pattern.path), &field.member);
        }
        visit::visit_pat_struct(self, pattern);
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        self.add_field(None, &field.member);
        visit::visit_expr_field(self, field);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.visit_scope(|visitor| visit::visit_arm(visitor, arm));
    }

    fn visit_expr_path(&mut self, expression: &'ast syn::ExprPath) {
        self.add_path(UseKind::Expression, &expression.path);
        visit::visit_expr_path(self, expression);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        self.add_path(UseKind::Expression, &expression.path);
        for field in &expression.fields {
            self.add_field(Some(&expression.path), &field.member);
        }
        visit::visit_expr_struct(self, expression);
    }

    fn visit_type_path(&mut self, ty: &'ast syn::TypePath) {
        self.add_path(UseKind::Type, &ty.path);
        visit::visit_type_path(self, ty);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        if let Some(arms) = self.arm_paths(&expression.arms) {
            let place = self.place(expression.span());
            self.index.matches.push(ExhaustiveMatch { place, arms });
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.clone();
        if call.path.is_ident("matches") {
            let parse = |input: ParseStream<'_>| {
                let value: Expr = input.parse()?;
                input.parse::<Token![,]>()?;
                let pattern = Pat::parse_multi_with_leading_vert(input)?;
                // A guard.
                input.parse::<proc_macro2::TokenStream>()?;
                Ok((value, pattern))
            };
            if let Ok((value, pattern)) = parse.parse2(tokens) {
                self.visit_expr(&value);
                self.visit_pat(&pattern);
            }
            return;
        }
        let parse = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = parse.parse2(tokens) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        }
    }
}
