"""Whether the tests run against a live account."""


def is_live():
    return False
