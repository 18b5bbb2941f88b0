from wherefrom.features.tokens import tokens


def test_signs_stand_alone_and_nothing_but_space_is_lost():
    text = "St. Paul's $1,200-a-year café, don't!"
    assert [text[start:end] for start, end in tokens(text)] == [
        "St",
        ".",
        "Paul",
        "'",
        "s",
        "$",
        "1",
        ",",
        "200",
        "-",
        "a",
        "-",
        "year",
        "café",
        ",",
        "don",
        "'",
        "t",
        "!",
    ]


def test_nothing_has_no_tokens():
    assert tokens(" \n") == []
