import { readServerConfig } from '@sallyport/kit'
import { mintToken } from '../mint-token.ts'

const [user, session] = process.argv.slice(2)
if (user === undefined) {
  console.error('Give the user of the token, and optionally the session: npm run --silent token ada research')
  process.exit(2)
}
const { options } = await readServerConfig('records')
console.log(await mintToken(options.auth, { user, session }))
