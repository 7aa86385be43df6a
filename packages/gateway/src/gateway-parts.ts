import type { McpServer } from '@sallyport/kit'
import type { Environment, Home, LoadedSettings } from './config/config.ts'
import type { Approver } from './governance/governance.ts'
import type { SessionShelves } from './isolation/isolation.ts'
import type { CurrentAuthenticators, LocalTokens } from './sessions/sessions.ts'
import type { Store } from './store/store.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import type { Watchdog } from './upstream/upstream.ts'

export interface GatewayParts {
  readonly home: Home
  readonly state: string
  readonly loaded: LoadedSettings
  readonly environment: Environment
  readonly store: Store
  /** Whether tools that are found get an entry in tools.yaml; they do unless this says otherwise. */
  readonly discovery?: 'writes' | 'looks' | undefined
  readonly onNotice?: ((text: string) => void) | undefined
  readonly onWarning: (text: string) => void
  /** Who answers approvals where the gateway has no doors; `nobody` refuses at once. */
  readonly approver?: Approver | 'nobody' | undefined
}

/** What has to be opened, can fail, and must be closed again. */
export interface OpenedParts {
  readonly tokens: LocalTokens
  readonly gatekeeper: CurrentAuthenticators
  readonly watchdog: Watchdog
  readonly builtIns: McpServer
  readonly shelves: SessionShelves
  readonly telemetry: Telemetry
  readonly marks: { readonly state: string; readonly run: string }
}
