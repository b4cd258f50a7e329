#!/bin/sh
# Install headwater from a wheel into a folder of its own, for the present user, without root:
#   sh install.sh headwater-0.2.0-py3-none-any.whl      a file, or an https address with its checksum:
#   sh install.sh https://.../headwater-0.2.0-py3-none-any.whl SHA256
# It puts the command at ~/.local/bin/headwater (BIN), and everything else into ~/.local/share/headwater (HOME_OF_HEADWATER).
set -eu

wheel=${1:?"name a wheel: sh install.sh FILE, or sh install.sh ADDRESS SHA256"}
place=${HOME_OF_HEADWATER:-$HOME/.local/share/headwater}
bin=${BIN:-$HOME/.local/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $wheel in
  https://*)
    sum=${2:?"an address needs the SHA-256 of its file as second argument"}
    curl --proto '=https' --tlsv1.2 --fail --location --silent --show-error --output "$work/${wheel##*/}" "$wheel"
    printf '%s  %s\n' "$sum" "$work/${wheel##*/}" | sha256sum --check --quiet - || { echo "the checksum differs: nothing was installed" >&2; exit 1; }
    wheel=$work/${wheel##*/} ;;
  *) [ -f "$wheel" ] || { echo "there is no file $wheel" >&2; exit 1; } ;;
esac

new=$place.new
rm -rf "$new"
if command -v uv >/dev/null; then
  uv venv --quiet --relocatable --python '>=3.11' "$new"
  uv pip install --quiet --compile-bytecode --python "$new/bin/python" "$wheel"
else
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, or uv" >&2; exit 1; }
  python3 -m venv "$new"
  "$new/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
fi
"$new/bin/python" -m headwater --version >/dev/null

mkdir -p "$bin" "${place%/*}"
rm -rf "$place"
mv "$new" "$place"
printf '#!/bin/sh\nexec "%s/bin/python" -m headwater "$@"\n' "$place" > "$bin/headwater"
chmod 755 "$bin/headwater"
echo "headwater is installed. Start it in the folder of your project: $bin/headwater start"
