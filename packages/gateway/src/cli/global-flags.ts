import type { FlagParametersForType } from '@stricli/core'
import type { CliContext } from './cli-context.ts'

/** What every command accepts. */
export interface GlobalFlags {
  readonly home?: string
  readonly state?: string
  readonly json?: boolean
}

export const GLOBAL_FLAGS: FlagParametersForType<GlobalFlags, CliContext> = {
  home: {
    kind: 'parsed',
    parse: String,
    optional: true,
    placeholder: 'folder',
    brief: 'The folder with config.yaml (else $SALLYPORT_HOME, ./.sallyport, ~/.config/sallyport)',
  },
  state: {
    kind: 'parsed',
    parse: String,
    optional: true,
    placeholder: 'folder',
    brief: 'The folder for state (else $SALLYPORT_STATE, ~/.local/state/sallyport)',
  },
  json: { kind: 'boolean', optional: true, withNegated: false, brief: 'Print JSON for programs' },
}
