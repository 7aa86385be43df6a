import type { TelemetrySection } from './config-schema.ts'
import { DEFAULT_TELEMETRY } from './defaults.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalise.ts'
import { readHeaders, readUrl } from './server-address.ts'
import type { TelemetrySettings } from './settings.ts'

export function readTelemetry(section: TelemetrySection, spot: ConfigNode, log: IssueLog): TelemetrySettings {
  return {
    otlp: section.otlp === undefined ? undefined : readOtlp(section.otlp, spot.children.get('otlp') ?? spot, log),
    prometheus: section.prometheus ?? DEFAULT_TELEMETRY.prometheus,
  }
}

function readOtlp(
  otlp: NonNullable<TelemetrySection['otlp']>,
  spot: ConfigNode,
  log: IssueLog,
): TelemetrySettings['otlp'] {
  const { endpoint, headers = {} } = typeof otlp === 'string' ? { endpoint: otlp } : otlp
  const at = spot.children.get('endpoint') ?? spot
  if (endpoint === undefined) {
    log.error(spot, 'expected "endpoint", such as "http://127.0.0.1:4318"; got none.')
    return undefined
  }
  const url = at.origin === 'unresolved' ? endpoint : readUrl(endpoint, at, log)
  if (url === undefined) return undefined
  return { endpoint: url, headers: readHeaders(headers, spot.children.get('headers') ?? spot, log) }
}
