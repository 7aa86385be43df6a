import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { makeDatabases } from '../databases.ts'

await makeDatabases('data')
console.log('Created data/records.db and data/people.db.')

try {
  await writeFile('.env', `RECORDS_SECRET=${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
  console.log('.env has a new RECORDS_SECRET.')
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  console.log('.env exists already and was not changed.')
}
