import { z } from '@hono/zod-openapi'
import type { DefinitionReview } from '../../pipeline/pipeline.ts'
import { looseObject } from './loose-object.ts'

/** The definition beside the one that was reviewed. */
export const definitionSchema = z
  .object({
    now: z.string().openapi({ description: 'The digest of the definition as it is: what is accepted by it.' }),
    pin: z.string().optional().openapi({ description: 'The digest of the one that was reviewed.' }),
    reviewed: looseObject.optional().openapi({ description: 'That one, where it was kept.' }),
    changes: z
      .array(
        z.object({
          part: z.string(),
          lines: z.array(z.object({ mark: z.enum(['-', '+', ' ', '…']), text: z.string() })),
        }),
      )
      .openapi({ description: 'What differs, line by line; without a kept definition everything.' }),
  })
  .openapi('DefinitionReview')

export type DefinitionView = z.infer<typeof definitionSchema>

export const definitionView = ({ now, pin, reviewed, changes }: DefinitionReview): DefinitionView => ({
  now,
  ...(pin !== undefined && { pin }),
  ...(reviewed && { reviewed }),
  changes: changes.map(({ part, lines }) => ({ part, lines: [...lines] })),
})
