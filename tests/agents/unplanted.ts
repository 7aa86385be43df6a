const NO_PROGRAM = 'refused by its flags, before anything is started'
const NOT_DRIVEN = 'not driven: see agents-tested.md'
const OF_THE_SYSTEM = 'it would have to be written to /etc'

/** Sources in which nothing was planted, and why. */
export const UNPLANTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'claude-code': { 'a program that drives it': NO_PROGRAM },
  codex: {
    'roles of sub-agents': 'its maker documents them; this version started none when it was driven',
    'files of the system': OF_THE_SYSTEM,
    'a process of its own that runs already': 'it is used in its window only',
    worktrees: NO_PROGRAM,
    'its organization': 'it needs an account',
    'a program that drives it': NO_PROGRAM,
  },
  'gemini-cli': {
    variables: 'it is used inside of an editor only',
    'a program that drives it': NO_PROGRAM,
  },
  'qwen-code': {
    '`.mcp.json` of the project': 'a person has to approve them in a terminal first',
    variables: 'it is used inside of an editor only',
    'a program that drives it': NO_PROGRAM,
  },
  copilot: {
    'its own': 'they need an account',
    'a program that drives it': NO_PROGRAM,
    'agents of an organization': 'they need an account',
  },
  goose: {
    'a model that is an agent itself': 'it needs another agent and its account',
    'parts of goose that start others': 'the model was not offered them: see real-agents.test.ts',
  },
  ...Object.fromEntries(
    ['opencode', 'kilo'].map((id) => [
      id,
      {
        'configuration of the system': OF_THE_SYSTEM,
        'configuration from afar': 'it needs a server with a certificate',
        flags: NO_PROGRAM,
        'a program that drives it': NO_PROGRAM,
        'an organization of its account': 'it needs an account',
      },
    ]),
  ),
  cline: {
    'sessions that are resumed': NO_PROGRAM,
    'a process of its own that runs already': 'the test of its leftovers shows that none is started',
    flags: NO_PROGRAM,
    'a program that drives it': NO_PROGRAM,
  },
  continue: { flags: NO_PROGRAM },
  droid: {
    'sessions that are resumed': 'driven without its service, it resumes none',
    'settings of the system': OF_THE_SYSTEM,
    'a program that drives it': NO_PROGRAM,
    'its organization': 'it needs an account',
  },
  kimi: {
    'sessions that are resumed': 'driven without a person, it resumes none of another folder',
    flags: NO_PROGRAM,
    'a program that drives it': NO_PROGRAM,
  },
  amp: {
    'settings of the user': NOT_DRIVEN,
    'files of the project': NOT_DRIVEN,
    skills: NOT_DRIVEN,
    'its account': NOT_DRIVEN,
  },
  crush: {
    'configuration of the user': NOT_DRIVEN,
    'files of the project': NOT_DRIVEN,
    'what Crush itself keeps': NOT_DRIVEN,
  },
}
