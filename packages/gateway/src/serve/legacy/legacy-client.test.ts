import { describe, expect, it } from 'vitest'
import { CallingClient, LegacyClient } from './legacy-client.ts'

const WAY = { send: () => true, isOpen: () => true }
const OPENING = { protocolVersion: '2025-11-25', clientInfo: { name: 'c' }, capabilities: { sampling: {} } }

describe('a legacy client, as it is introduced to modern servers', () => {
  it('has the log level that it set last, also in calls', () => {
    const client = new LegacyClient('conversation', OPENING, WAY)
    const calling = new CallingClient(client, { notify: () => true })
    const introduced = (): unknown => JSON.parse(`{${calling.introduction}}`)
    const declared = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': OPENING.clientInfo,
      'io.modelcontextprotocol/clientCapabilities': OPENING.capabilities,
    }
    expect(introduced()).toEqual(declared)
    client.logLevel = 'debug'
    expect(introduced()).toEqual({ ...declared, 'io.modelcontextprotocol/logLevel': 'debug' })
    client.logLevel = 'error'
    expect(introduced()).toEqual({ ...declared, 'io.modelcontextprotocol/logLevel': 'error' })
  })
})
