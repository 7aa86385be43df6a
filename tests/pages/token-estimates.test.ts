import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { estimateTokens, estimateToolTokens, type ToolDefinition } from '@sallyport/core'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it, onTestFinished } from 'vitest'
import { filesBelow, textOf } from '../harness/repository.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

/** Texts may hold what the tokenizer keeps for itself, and mean it. */
const counted = (text: string): number => countTokens(text, { disallowedSpecial: new Set() })

async function toolsOf(server: string): Promise<readonly ToolDefinition[]> {
  const program = join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${server}/dist/index.js`)
  const folder = server === 'filesystem' ? [join(REPOSITORY, 'docs')] : []
  const client = new StdioClient(spawn(process.execPath, [program, ...folder]))
  onTestFinished(() => client.kill())
  await client.initialize()
  return (await client.request('tools/list')).result.tools
}

const shown = ({ name, description, inputSchema }: ToolDefinition): string =>
  JSON.stringify({ name, description, input_schema: inputSchema })

const definitions = async (server: string): Promise<readonly string[]> => (await toolsOf(server)).map(shown)

const randomBytes = (seed: string, blocks: number): Buffer =>
  Buffer.concat(Array.from({ length: blocks }, (_, index) => createHash('sha256').update(`${seed}${index}`).digest()))

const every = (nth: number, paths: readonly string[]): readonly string[] =>
  paths.filter((_, index) => index % nth === 0).map(textOf)

const CHINESE = `网关位于智能体与工具之间。每一次调用都会先经过身份验证，然后按照规则进行判断，最后写入记录。
如果一个工具可能造成损害，就会有人被询问是否同意。文件中的注释保持不变，程序只会追加新的条目。
当服务器修改了某个工具的定义时，该工具会被拒绝，直到有人查看并接受新的定义为止。数据不会离开这台机器。`

const JAPANESE = `ゲートウェイはエージェントとツールの間に立ちます。すべての呼び出しは認証され、規則に従って判断され、記録されます。
危険なツールの場合は、実行する前に人に確認します。設定ファイルのコメントはそのまま残り、新しい項目だけが追加されます。
サーバーがツールの定義を変更すると、誰かが新しい定義を確認して受け入れるまで、そのツールは拒否されます。`

const KOREAN = `게이트웨이는 에이전트와 도구 사이에 있습니다. 모든 호출은 먼저 인증되고 규칙에 따라 판단된 다음 기록됩니다.
위험할 수 있는 도구는 실행하기 전에 사람에게 승인을 요청합니다. 설정 파일의 주석은 그대로 유지되고 새로운 항목만 추가됩니다.
서버가 도구의 정의를 변경하면 누군가 새로운 정의를 확인하고 수락할 때까지 그 도구는 거부됩니다.`

const TEXTS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'tools of server-everything': () => definitions('everything'),
  'tools of server-filesystem': () => definitions('filesystem'),
  'tools of server-memory': () => definitions('memory'),
  English: async () =>
    every(
      1,
      // The reference of the API is generated, and most of it is TypeScript.
      filesBelow('docs').filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/')),
    ),
  TypeScript: async () => every(9, filesBelow('packages/core/src')),
  JSON: async () => [textOf('package-lock.json').slice(0, 60_000), textOf('docs/benchmarks.json').slice(0, 60_000)],
  Chinese: async () => [CHINESE],
  Japanese: async () => [JAPANESE],
  Korean: async () => [KOREAN],
  base64: async () => [randomBytes('base64', 200).toString('base64')],
  hex: async () => [randomBytes('hex', 100).toString('hex')],
}

interface Claim {
  readonly text: string
  readonly bound: number
  readonly measured: number
}

const CLAIMS: readonly Claim[] = [
  ...textOf('docs/token-estimates.md').matchAll(/^\| `(.+)` \| (\d+) % \| ([+-]?\d+) % \|$/gm),
].map(([, text = '', bound, measured]) => ({ text, bound: Number(bound), measured: Number(measured) }))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

describe(`estimates of tokens (${promise('AG-19')})`, () => {
  it('are promised for every kind of text that is measured, and for no other', () => {
    expect(CLAIMS.map(({ text }) => text)).toEqual(Object.keys(TEXTS))
  })

  it.each(CLAIMS)('of $text are within $bound % of what a tokenizer counts', async ({ text, bound, measured }) => {
    const texts = (await TEXTS[text]?.()) ?? []
    const exact = sum(texts.map(counted))
    const error = 100 * (sum(texts.map(estimateTokens)) / exact - 1)
    expect(exact).toBeGreaterThan(50)
    expect(Math.abs(error)).toBeLessThanOrEqual(bound)
    expect(Math.abs(error - measured), `the page says ${measured} %, it is ${error.toFixed(1)} %`).toBeLessThan(3)
  })

  it.each(['everything', 'filesystem', 'memory'])(
    'of single tools of server-%s are wrong by at most a fifth',
    async (server) => {
      for (const tool of await toolsOf(server)) {
        const exact = counted(shown(tool))
        expect(Math.abs(estimateToolTokens(tool.name, tool) / exact - 1), tool.name).toBeLessThanOrEqual(0.2)
      }
    },
  )
})
