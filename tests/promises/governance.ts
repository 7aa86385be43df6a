import type { Promised } from './promised.ts'

export const GOVERNANCE_PROMISES = {
  'GOV-1': {
    text: 'Every tool that is found has an entry in tools.yaml: existing entries are left alone, missing ones are appended',
    state: 'built',
  },
  'GOV-2': {
    text: 'An append preserves tools.yaml byte for byte, or the file is left alone and that is reported',
    state: 'built',
  },
  'GOV-3': {
    text: 'Discovery again changes nothing; two gateways at once lose no entry and write none twice',
    state: 'built',
  },
  'GOV-4': {
    text: 'Keys may have any form, the strictest of several entries wins, and no name or text of a server can change the policy of another tool',
    state: 'built',
  },
  'GOV-5': {
    text: 'An entry has the fields that the page on tools.yaml explains; anything else is a warning with the one that was meant, and closes the entry if that one restricts',
    state: 'built',
  },
  'GOV-6': {
    text: 'The risk of a tool is guessed from the words of its name, its annotations and its schema, each with its reason',
    state: 'built',
  },
  'GOV-7': {
    text: 'The effects of a risk, the words that decide it and name patterns are data in config.yaml',
    state: 'built',
  },
  'GOV-8': {
    text: 'Permissions are a set; what an untrusted server says about its tools can only add to it',
    state: 'partial',
    missing: 'inferring less for servers without a network: calls of private sessions pass by their route instead',
  },
  'GOV-9': {
    text: 'A tool whose definition changed is shown as it was reviewed and refused until a person who saw the change accepts it',
    state: 'built',
  },
  'GOV-10': {
    text: 'Everything that a server puts before a model is inspected; a finding asks a person until somebody accepts it, is recorded, written as a comment and shown; honest servers have none',
    state: 'built',
  },
  'GOV-11': {
    text: 'A saved edit is in force within a second; an invalid file leaves the last valid one in force and is reported with line and column',
    state: 'built',
  },
  'GOV-12': {
    text: 'A tool can be called in the modes that its entry, its category and the policy of the mode allow',
    state: 'built',
  },
  'GOV-13': {
    text: 'LOCKDOWN allows only essential READ tools with approval, from the next dispatch on; RECOVERY allows READ tools; a mode survives a restart',
    state: 'partial',
    missing: 'other replicas',
  },
  'GOV-14': {
    text: 'The mode gets stricter by itself, by configured windows and durations; only a person relaxes it',
    state: 'built',
  },
  'GOV-15': {
    text: 'Every path in the arguments is checked in its canonical form, a relative one from every folder that the server may read it from; forbidden wins',
    state: 'built',
  },
  'GOV-16': { text: 'Rules for single arguments, and patterns of linear time over all of them', state: 'built' },
  'GOV-17': {
    text: 'Arguments are checked against the input schema before anything else, and a violation names the field; what cannot be checked needs approval or is refused, and all other checks still apply',
    state: 'built',
  },
  'GOV-18': {
    text: 'Keys and tokens are refused in arguments, removed from results and notifications, and in no record or error; the credentials of a server never come back from it',
    state: 'built',
  },
  'GOV-19': {
    text: 'A call that needs approval waits, does not delay others, shows everything about itself, and expires',
    state: 'built',
  },
  'GOV-20': {
    text: 'Answered on the web page, over the API, on the command line, by the client if it may, by a signed web hook; the first answer wins',
    state: 'built',
  },
  'GOV-21': {
    text: 'Deny with a reason, once, for the session, always; bound to arguments and definition; always is shown first',
    state: 'built',
  },
  'GOV-22': {
    text: 'If no approval can come, the call is refused and was never dispatched; a restart grants nothing',
    state: 'built',
  },
  'GOV-23': { text: 'unattended_paths and governance.auto_approve spell out what needs no person', state: 'built' },
  'GOV-24': {
    text: 'Every call and every change of the gateway is an event that can be queried',
    state: 'built',
  },
  'GOV-25': {
    text: 'Every decision is one record: who, what, each step, the rule with file and line; the label of the session before and after; explain shows it to a person',
    state: 'built',
  },
  'GOV-26': {
    text: 'Arguments are recorded as audit.arguments says, and never a key or a token in them',
    state: 'built',
  },
  'GOV-27': {
    text: 'A call is recorded before it is dispatched, and that survives kill -9; one that cannot be recorded is refused; a changed log is detected',
    state: 'built',
  },
  'GOV-28': {
    text: 'audit filters, follows and exports records, and old ones are removed',
    state: 'built',
  },
  'GOV-29': {
    text: 'Rules can be recorded without being enforced, and recorded calls can be decided by other rules',
    state: 'built',
  },
  'GOV-30': {
    text: 'Metrics for Prometheus; traces and metrics by OpenTelemetry if an exporter is set, with the trace passed on',
    state: 'built',
  },
  'GOV-32': {
    text: 'A tool without an entry is pinned in the state; a server has a share of new entries, and tools beyond it need approval',
    state: 'built',
  },
} as const satisfies Record<string, Promised>
