"""The program `chalet`: statements from arguments, files, standard input and a prompt. Nothing of it is imported by the package.

- `arguments`: what the command line says
- `main`: from the command line to one of the ways to run
- `runner`: statements one after the other: their output, errors and times
- `data`: a file or standard input as a table, and as the data of an INSERT
- `interactive`: the prompt
- `reader`: lines from a terminal, with history and completion
- `history`: statements kept between sessions
- `commands`: what begins with a backslash
- `completion`: words that may stand at the cursor
- `catalog`: the names that the database knows
"""
