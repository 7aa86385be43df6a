import { expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { createTestPipeline } from '../pipeline.test-kit.ts'
import { collectToolProblems } from './tool-problems.ts'

it('tools without an entry are reported with their own reason, or with the common one', () => {
  const { catalog, rulesOf } = createTestPipeline({ catalogues: { files: createCatalog(['one', 'two', 'three']) } })
  const problemsWith = (notWritten: readonly string[], findings: readonly string[] = []): readonly string[] =>
    collectToolProblems({
      editor: {
        file: { path: 'tools.yaml', entries: [], categories: new Map(), modePolicies: new Map() },
        ...{ unusableReason: undefined, issue: undefined, warnings: [], notWritten },
      },
      tools: catalog.snapshot.tools,
      others: [],
      findPresetProblem: () => undefined,
      problemsOf: () => [],
      unmatchedEntries: [],
      serverProblems: [],
      unmatchedPatterns: [],
      reviewOf: (offer) => ({
        policy: rulesOf(offer).policy,
        ...{ entries: [], ownEntries: [], hasOwnEntry: false, pin: 'unpinned', findings, openFindings: findings },
      }),
    }).map(({ problem }) => problem)
  const names = ['one', 'two', 'three'].map((name) => `mcp__files__${name}`)
  const own = names.map((name) => `${name} has no entry: its name is invalid`)
  expect(problemsWith(own)).toEqual(names.map((name, at) => `${name} has no entry in tools.yaml. ${own[at]}`))
  expect(problemsWith(['The disk is full.'])).toEqual(
    names.map((name) => `${name} has no entry in tools.yaml. The disk is full.`),
  )
  expect(problemsWith([], ['share in tools.yaml: too many'])).toEqual([
    '3 tools of files have no entry in tools.yaml: their server has used up its share, or adds them too fast. Each of their calls asks a person.',
  ])
})
