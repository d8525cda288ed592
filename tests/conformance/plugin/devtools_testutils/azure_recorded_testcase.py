"""Credentials of live accounts: a local server has none."""


def get_credential(**_options):
    return None
