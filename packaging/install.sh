#!/bin/sh
# Installs the interlingua program from a release on GitHub, after its checksum was verified.
#
#   curl -fsSL https://github.com/interlingua-dev/interlingua/releases/latest/download/install.sh | sh
#
# Settings, as environment variables:
#   INTERLINGUA_VERSION      version to install, such as 0.2.0 [default: the latest release]
#   INTERLINGUA_INSTALL_DIR  folder for the program [default: ~/.local/bin]
#   INTERLINGUA_RELEASES     address of the releases [default: the one on GitHub]
set -eu

fail() {
    echo "error: $1" >&2
    exit 1
}

# Downloads $1 to the file $2.
download() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 2 "$1" -o "$2"
    elif command -v wget >/dev/null 2>&1; then
        wget -q "$1" -O "$2"
    else
        fail "neither curl nor wget is installed"
    fi || fail "cannot download $1; check the network, and that the release exists"
}

# Prints the SHA-256 of a file.
checksum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1"
    else
        fail "neither sha256sum nor shasum is installed, so the download cannot be verified"
    fi | cut -d ' ' -f 1
}

# The target of the release for this machine.
target() {
    case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    arm64 | aarch64) machine=aarch64 ;;
    *) fail "there is no release for $(uname -m); build it with: cargo install interlingua" ;;
    esac
    case "$(uname -s)" in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no release for $(uname -s); build it with: cargo install interlingua" ;;
    esac
}

# The whole script is a function, so that an incomplete download does nothing.
main() {
    releases="${INTERLINGUA_RELEASES:-https://github.com/interlingua-dev/interlingua/releases}"
    if [ -n "${INTERLINGUA_VERSION:-}" ]; then
        address="$releases/download/v${INTERLINGUA_VERSION#v}"
    else
        address="$releases/latest/download"
    fi
    folder="${INTERLINGUA_INSTALL_DIR:-${HOME:?}/.local/bin}"
    target="$(target)"
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT

    download "$address/SHA256SUMS" "$work/SHA256SUMS"
    # The version is part of the name.
    archive="$(awk -v end="-$target.tar.gz" '{
        start = length($2) - length(end) + 1
        if (start > 0 && substr($2, start) == end) { print $2; exit }
    }' "$work/SHA256SUMS")"
    [ -n "$archive" ] || fail "the release at $address has no program for $target"
    download "$address/$archive" "$work/$archive"
    expected="$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")"
    found="$(checksum "$work/$archive")"
    [ "$expected" = "$found" ] || fail "the checksum of $archive is $found, expected $expected; nothing was installed"

    tar -xzf "$work/$archive" -C "$work"
    mkdir -p "$folder"
    # A program that runs cannot be overwritten, but replaced.
    cp "$work/${archive%.tar.gz}/interlingua" "$folder/.interlingua.new"
    chmod 755 "$folder/.interlingua.new"
    mv "$folder/.interlingua.new" "$folder/interlingua"
    echo "installed $folder/interlingua ($archive)"
    case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "note: $folder is not on the PATH" ;;
    esac
    echo "next: interlingua run mock example"
}

main
