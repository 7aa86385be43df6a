// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in patterns are what is tested.

import type { PolicyFields } from '@sallyport/core'
import { expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { REMOTE_PATH_CONTEXT } from '../../governance/path-context.ts'
import { createTestPipeline } from '../pipeline.test-kit.ts'
import { findRuleProblems } from './rule-problems.ts'

/** The problems of an entry whose fields are each on their own line. */
function problemsOf(fields: PolicyFields): readonly string[] {
  const lines = { allowedPaths: 3, forbiddenPaths: 4, arguments: 5 }
  const entries = [{ key: 'mcp__files__read', line: 2, fields, lines }]
  const { catalog, rulesOf } = createTestPipeline({ catalogues: { files: createCatalog(['read']) }, entries })
  const [offer] = catalog.snapshot.tools
  if (offer === undefined) throw new Error('no tool')
  return findRuleProblems(rulesOf(offer).policy, REMOTE_PATH_CONTEXT)
}

const NOT_SET = 'sallyport_no_such_variable'

it.each<[PolicyFields, string]>([
  [
    { allowedPaths: ['/srv', `\${${NOT_SET}}/x`] },
    `tools.yaml:3: allowed_paths: "\${${NOT_SET}}/x" cannot be used: the variable ${NOT_SET} is not set. It allows nothing until it is corrected.`,
  ],
  [
    { forbiddenPaths: ['src'] },
    'tools.yaml:4: forbidden_paths: "src" cannot be used: it is relative, and the working folder of the server is not known. Every path is refused until it is corrected.',
  ],
  [
    { arguments: { fields: { branch: { pattern: '(' } }, denyPatterns: [] } },
    'tools.yaml:5: arguments: "(" cannot be used: missing closing ): `(`. Every "branch" is refused until it is corrected.',
  ],
  [
    { arguments: { fields: {}, denyPatterns: ['fine', '(?=no)'] } },
    'tools.yaml:5: arguments: "(?=no)" cannot be used: ',
  ],
])('%j is reported with its source location, and with its effect until it is corrected', (fields, expected) => {
  const [problem, ...others] = problemsOf(fields)
  expect(problem).toContain(expected)
  expect(others).toEqual([])
})

it('valid rules are not reported', () => {
  const fine = { fields: { branch: { pattern: '^x' }, count: { max: 3 } }, denyPatterns: ['rm\\s+-rf'] }
  expect(problemsOf({ allowedPaths: ['/srv/**'], forbiddenPaths: ['**/.env'], arguments: fine })).toEqual([])
})
