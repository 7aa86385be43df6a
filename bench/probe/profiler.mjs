import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

const SAMPLE_EVERY_US = 200
const session = new Session()

export async function startProfile() {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
  await session.post('Profiler.start')
}

export async function stopProfile(file) {
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  writeFileSync(file, JSON.stringify(profile))
}
