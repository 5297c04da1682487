"""`python -m chalet SQL [FORMAT]`: prints the output; an error goes to stderr with exit status 1."""

import sys

USAGE = "usage: python -m chalet SQL [FORMAT]   (SQL - reads it from standard input)"


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    import chalet

    sql, fmt = arguments[0], arguments[1] if len(arguments) == 2 else "CSV"
    try:
        result = chalet.query(sys.stdin.read() if sql == "-" else sql, fmt)
        if isinstance(result, chalet.Result):
            sys.stdout.buffer.write(result.get_memview().view())
        else:
            print(result)
        sys.stdout.flush()
    except (chalet.Error, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the pipe has seen enough. Python would complain once more while closing stdout.
        sys.stderr.close()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
