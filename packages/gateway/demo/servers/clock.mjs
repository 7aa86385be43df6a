// Time in any zone, and a slow tool that reports its progress and stops when it is cancelled.
import { setTimeout } from 'node:timers/promises'
import { createMcpServer, READ, serveStdio, ToolRetryError } from '../../dist/packages/kit/index.js'

const MAX_SECONDS = 300

const server = createMcpServer('clock', { version: '1.0.0', title: 'Clock' })

const zone = { type: 'string', description: 'An IANA time zone, such as Europe/Lisbon' }

server.tool(
  'current_time',
  {
    title: 'Current time',
    description: 'The time now, in a time zone (UTC by default).',
    permission: READ,
    input: { type: 'object', properties: { zone }, additionalProperties: false },
  },
  ({ zone = 'UTC' }) => describe(new Date(), zone),
)

server.tool(
  'convert_time',
  {
    title: 'Convert time',
    description: 'Convert a time to another time zone.',
    permission: READ,
    input: {
      type: 'object',
      properties: {
        moment: { type: 'string', description: 'ISO 8601 with an offset, such as 2026-11-15T09:30Z' },
        zone,
      },
      required: ['moment', 'zone'],
      additionalProperties: false,
    },
  },
  ({ moment, zone }) => describe(readMoment(moment), zone),
)

server.tool(
  'countdown',
  {
    title: 'Countdown',
    description: `Count seconds down to zero, and report each of them. At most ${MAX_SECONDS}.`,
    permission: READ,
    input: {
      type: 'object',
      properties: { seconds: { type: 'integer', minimum: 1, maximum: MAX_SECONDS } },
      required: ['seconds'],
      additionalProperties: false,
    },
  },
  async ({ seconds }, { signal, progress }) => {
    if (seconds < 1 || seconds > MAX_SECONDS) throw new ToolRetryError(`Expected 1 to ${MAX_SECONDS} seconds.`)
    for (let passed = 0; passed < seconds; passed++) {
      progress(passed, seconds, `${seconds - passed} s left`)
      // The signal ends the wait at once when the caller cancels or disconnects.
      await setTimeout(1_000, undefined, { signal })
    }
    return 'Lift-off.'
  },
)

function readMoment(text) {
  const moment = new Date(text)
  // Without an offset, the result would depend on the time zone of this machine.
  if (Number.isNaN(moment.getTime()) || !/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text.trim()))
    throw new ToolRetryError(
      `${JSON.stringify(text)} is not a valid time. Write it as 2026-11-15T09:30Z or with +02:00.`,
    )
  return moment
}

function describe(moment, zone) {
  try {
    const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone: zone })
    return { zone: format.resolvedOptions().timeZone, local: format.format(moment), utc: moment.toISOString() }
  } catch (cause) {
    throw new ToolRetryError(`The time zone ${JSON.stringify(zone)} is not known. Use a name such as Asia/Tokyo.`, {
      cause,
    })
  }
}

await serveStdio(server)
