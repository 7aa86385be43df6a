/** The kinds of objects in the lists of a result that the protocol defines. */
export type ItemKind = 'block' | 'contents' | 'message'

/** Members of such objects, as bits. */
export const MEMBER = {
  type: 1,
  text: 2,
  data: 4,
  mimeType: 8,
  uri: 16,
  name: 32,
  resource: 64,
  title: 128,
  description: 256,
  size: 512,
  annotations: 1_024,
  icons: 2_048,
  meta: 4_096,
  blob: 8_192,
  role: 16_384,
  content: 32_768,
} as const

/** The expected type of a value. A `checked` value is checked separately. */
export type Expected = 'string' | 'base64' | 'object' | 'checked' | ItemKind

export interface MemberRule {
  readonly bit: number
  readonly expected: Expected
}

const META = { bit: MEMBER.meta, expected: 'object' } as const
const URI = { bit: MEMBER.uri, expected: 'string' } as const
const TEXT = { bit: MEMBER.text, expected: 'string' } as const
const MIME_TYPE = { bit: MEMBER.mimeType, expected: 'string' } as const

/** The members of each kind that the protocol defines. Others are unknown fields and pass. */
export const ITEM_MEMBERS: Readonly<Record<ItemKind, ReadonlyMap<string, MemberRule>>> = {
  block: new Map<string, MemberRule>([
    ['type', { bit: MEMBER.type, expected: 'string' }],
    ['text', TEXT],
    ['data', { bit: MEMBER.data, expected: 'base64' }],
    ['mimeType', MIME_TYPE],
    ['uri', URI],
    ['name', { bit: MEMBER.name, expected: 'string' }],
    ['resource', { bit: MEMBER.resource, expected: 'contents' }],
    ['title', { bit: MEMBER.title, expected: 'string' }],
    ['description', { bit: MEMBER.description, expected: 'string' }],
    ['size', { bit: MEMBER.size, expected: 'checked' }],
    ['annotations', { bit: MEMBER.annotations, expected: 'checked' }],
    ['icons', { bit: MEMBER.icons, expected: 'checked' }],
    ['_meta', META],
  ]),
  contents: new Map<string, MemberRule>([
    ['uri', URI],
    ['mimeType', MIME_TYPE],
    ['text', TEXT],
    ['blob', { bit: MEMBER.blob, expected: 'base64' }],
    ['_meta', META],
  ]),
  message: new Map<string, MemberRule>([
    ['role', { bit: MEMBER.role, expected: 'string' }],
    ['content', { bit: MEMBER.content, expected: 'block' }],
  ]),
}

export interface BlockRule {
  readonly required: number
  readonly optional: number
}

const ON_ALL = MEMBER.annotations | MEMBER.meta
const MEDIA: BlockRule = { required: MEMBER.data | MEMBER.mimeType, optional: ON_ALL }

/** The content types of the protocol. Other types pass unchanged. */
export const BLOCK_RULES: ReadonlyMap<string, BlockRule> = new Map([
  ['text', { required: MEMBER.text, optional: ON_ALL }],
  ['image', MEDIA],
  ['audio', MEDIA],
  ['resource', { required: MEMBER.resource, optional: ON_ALL }],
  [
    'resource_link',
    {
      required: MEMBER.uri | MEMBER.name,
      optional: ON_ALL | MEMBER.title | MEMBER.description | MEMBER.mimeType | MEMBER.size | MEMBER.icons,
    },
  ],
])

/** Optional members of resource contents, besides `text` and `blob`. */
export const CONTENTS_OPTIONAL: number = MEMBER.mimeType | MEMBER.meta

export const ROLES: ReadonlySet<string> = new Set(['user', 'assistant'])

/** The message for a required member that is missing or invalid. The first match applies. */
const REQUIREMENTS: readonly (readonly [number, string])[] = [
  [MEMBER.type, '"type" must be a string'],
  [MEMBER.role, '"role" must be "user" or "assistant"'],
  [MEMBER.content, '"content" must be an object'],
  [MEMBER.uri, '"uri" must be a string'],
  [MEMBER.name, '"name" must be a string'],
  [MEMBER.data, '"data" must be a base64 string'],
  [MEMBER.mimeType, '"mimeType" must be a string'],
  [MEMBER.resource, '"resource" must be an object'],
  [MEMBER.text | MEMBER.blob, '"text" must be a string, or "blob" a base64 string'],
  [MEMBER.text, '"text" must be a string'],
]

export function describeRequirement(missing: number): string {
  return REQUIREMENTS.find(([bits]) => (missing & bits) === bits)?.[1] ?? 'a required field is missing'
}
