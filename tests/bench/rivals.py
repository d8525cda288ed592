"""PostgreSQL, SQLite and DuckDB as the query bench sets them up and asks them."""

import os
import shutil
import sqlite3
import subprocess

import duckdb
import psycopg


class Postgres:
    """A server of our own, as another user where we are root, on a Unix socket, with a gigabyte of shared buffers."""

    def __init__(self, folder):
        self.folder = folder
        data = os.path.join(folder, "data")
        os.makedirs(folder, exist_ok=True)
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres")
        if not os.path.exists(data):
            self.call("initdb", "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C")
        settings = {"shared_buffers": "1GB", "work_mem": "64MB", "maintenance_work_mem": "512MB", "fsync": "off",
                    "max_wal_size": "4GB", "listen_addresses": "''", "unix_socket_directories": f"'{folder}'",
                    "random_page_cost": "1.1", "effective_cache_size": "4GB"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self.call("pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", options, "start")
        self.connection = psycopg.connect(host=folder, user="bench", dbname="postgres", autocommit=True)
        self.connection.prepare_threshold = 0

    def call(self, program, *arguments):
        command = [*self.user, shutil.which(program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def load(self, name, file, indexes):
        cursor = self.connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE {name} (id text PRIMARY KEY, d jsonb NOT NULL)")
        with cursor.copy(f"COPY {name} (id, d) FROM STDIN") as copy, open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                copy.write_row((str(number), line))
        cursor.execute(f"CREATE INDEX ON {name} USING gin (d jsonb_path_ops)")
        for index in indexes:
            cursor.execute(f"CREATE INDEX ON {name} ({index})")
        cursor.execute(f"VACUUM ANALYZE {name}")

    def run(self, text, parameters, page):
        if page:
            with self.connection.transaction(), psycopg.ServerCursor(self.connection, "walk") as cursor:
                cursor.execute(text, parameters)
                rows = []
                while part := cursor.fetchmany(page):
                    rows += part
                return rows
        return self.connection.execute(text, parameters, prepare=True).fetchall()

    def stop(self):
        self.connection.close()
        self.call("pg_ctl", "-D", os.path.join(self.folder, "data"), "-m", "fast", "stop")


class Sqlite:
    def __init__(self, folder):
        self.connection = sqlite3.connect(os.path.join(folder, "bench.sqlite"), cached_statements=500)
        self.connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-2000000")

    def load(self, name, file, indexes):
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"CREATE TABLE {name} (id TEXT PRIMARY KEY, d TEXT NOT NULL)")
        with open(file, encoding="utf-8") as lines:
            rows = ((str(number), line.strip()) for number, line in enumerate(lines))
            self.connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        for number, index in enumerate(indexes):
            self.connection.execute(f"CREATE INDEX {name}_{number} ON {name} ({index})")
        self.connection.execute("ANALYZE")
        self.connection.commit()

    def run(self, text, parameters):
        return self.connection.execute(text, parameters).fetchall()


class Duck:
    def __init__(self, folder):
        self.connection = duckdb.connect(os.path.join(folder, "bench.duckdb"))

    def load(self, name, file):
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT json AS d FROM read_ndjson_objects('{file}')")

    def run(self, text, parameters):
        return self.connection.execute(text, parameters).fetchall()
