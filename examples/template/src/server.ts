import { once } from 'node:events'
import { readServerConfig, serveHttp, serveStdio } from '@sallyport/kit'
import { SqlConnector } from '@sallyport/kit/connectors'
import { createRecordsServer } from './create-records-server.ts'
import { databasesIn } from './databases.ts'

/** `server.js [entry of config.yaml] [--stdio]` */
const [entry = 'records'] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const { name, options, listen } = await readServerConfig(entry)
const publishUrl = process.env.PUBLISH_URL ?? 'http://127.0.0.1:9/notes'

SqlConnector.configure(databasesIn('data'))
const server = createRecordsServer(name, { ...options, publishUrl })

if (process.argv.includes('--stdio')) {
  await serveStdio(server)
} else {
  const serving = await serveHttp(server, listen)
  console.error(`${entry} serves ${serving.url}`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await serving.close()
}
await SqlConnector.close()
