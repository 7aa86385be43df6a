import type { Promised } from './promised.ts'

export const WEB_PROMISES = {
  'WEB-1': {
    text: 'The agents found on this machine with their servers; one button imports them after the change of config.yaml was shown; nothing is written to their files, and the page says so',
    state: 'built',
  },
  'WEB-9': {
    text: 'Tokens kept out of contexts by selection, isolation and shaping, per tool, per agent and over time, as charts with a table behind them, and how each is counted',
    state: 'built',
  },
  'WEB-3': {
    text: 'The native servers of each type of agent, as read from its files with their paths, which are only read; the gateway’s own servers with the diff before saving, and comments kept',
    state: 'built',
  },
  'WEB-4': {
    text: 'Calls that wait: who, what exactly, why, the permission, and what the agent wrote where it is not sent like that; folded values are opened first; once, session, always with the lines it writes, or a denial with a reason; by keys alone',
    state: 'built',
  },
  'WEB-5': {
    text: 'The stream of calls with filters, those of an earlier day, and for each call: where its time went, its steps, the rule with file and line, arguments, what it wanted to reach, its stored result unless its session is private, and what the rules of now would decide',
    state: 'partial',
    missing: 'the time of each single step, and the text that the agent got of a shortened result',
  },
  'WEB-6': {
    text: 'Each session with its label, what raised it and when, the network mode of each of its sandboxes, what is blocked now or would be after a raise, and what can be done instead',
    state: 'built',
  },
  'WEB-7': {
    text: 'The main rules of every tool with where each comes from; edits of one tool or of many, after the exact change of tools.yaml and its effect on the calls of the last day were shown; definitions that changed or are suspicious, accepted after their change was shown',
    state: 'built',
  },
  'WEB-8': {
    text: 'Each server with its state and why, the next try, restarts, latency, its last day, its last messages, and the tools that came and went',
    state: 'partial',
    missing: 'the login of servers',
  },
  'WEB-10': {
    text: 'The mode with the panic switch, what needs a person, calls, refusals, and what changed today; the way of the calls from agents to servers, as they happen',
    state: 'built',
  },
  'WEB-2': {
    text: 'The form of a profile selects tools by server and tool: search, mixed groups, counts, Clear All, an explicit none, stale entries, costs and a budget, when a tool was last used, keys alone, thousands of rows; nothing of one profile is saved into another, and nobody overwrites a change that was not seen',
    state: 'built',
  },
  'WEB-11': {
    text: 'A palette, keys with a list of them, addresses that are the state, light and dark, phones, WCAG AA, no mouse needed',
    state: 'built',
  },
  'WEB-12': {
    text: 'A login link that works once, a strict cookie, exact Origin and a header on writes, a content security policy without inline code, no external request; an approval sends the hash of what was shown',
    state: 'built',
  },
  'WEB-14': {
    text: 'The first load is at most 180 kB compressed, and types come from the API’s own code',
    state: 'built',
  },
  'WEB-15': {
    text: 'The mode is on every screen, LOCKDOWN cannot be mistaken, and what needs a person is counted in the header, one click away',
    state: 'built',
  },
  'WEB-16': {
    text: 'Servers can be added by form, by pasted text of any agent, or from an agent’s file, enabled, restarted and removed, after the diff of config.yaml was shown; an agent is connected with a token that expires',
    state: 'partial',
    missing: 'the login of servers',
  },
} as const satisfies Record<string, Promised>
