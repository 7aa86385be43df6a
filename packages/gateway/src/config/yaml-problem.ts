/** What the parser says may quote the file, and so a secret: only its codes are passed on. */
const PARSER_PROBLEMS: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias ("*name") cannot have an anchor or a tag.',
  BAD_ALIAS: 'this alias ("*name") is not well formed.',
  BAD_DIRECTIVE: 'this "%" directive is not known.',
  BAD_DQ_ESCAPE: 'this escape does not exist in a double-quoted text. Write "\\\\" for a backslash.',
  BAD_INDENT: 'the indentation is wrong here. Lines of one mapping begin in one column.',
  BAD_PROP_ORDER: 'anchors and tags must stand before the value.',
  BAD_SCALAR_START: 'a plain text cannot begin with this character. Put it in quotes.',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot stand on the line of its key. Is a quote or a line break missing?',
  BLOCK_IN_FLOW: 'an indented block cannot stand inside [ ] or { }.',
  DUPLICATE_KEY: 'this key stands twice.',
  IMPOSSIBLE: 'this is not YAML.',
  KEY_OVER_1024_CHARS: 'this key is too long.',
  MISSING_CHAR: 'a character is missing here: a closing quote, bracket or comma, or the space after ":" or "-".',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line. Is a ":" or a quote missing before?',
  MULTIPLE_ANCHORS: 'a value can have one anchor only.',
  MULTIPLE_DOCS: 'the file holds several documents ("---"). Expected one.',
  MULTIPLE_TAGS: 'a value can have one tag only.',
  NON_STRING_KEY: 'keys must be texts.',
  RESOURCE_EXHAUSTION: 'this is nested too deeply.',
  TAB_AS_INDENT: 'a tab cannot be used as indentation. Use spaces.',
  TAG_RESOLVE_FAILED: 'this "!tag" is not known.',
  UNEXPECTED_TOKEN: 'this was not expected here. Is a quote, a ":" or a bracket missing before?',
}

/** A code of the YAML parser in words that a person can act upon. */
export const describeYamlProblem = (code: string): string => PARSER_PROBLEMS[code] ?? 'this is not YAML.'
