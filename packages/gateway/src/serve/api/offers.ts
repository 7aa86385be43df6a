import { createRoute, z } from '@hono/zod-openapi'
import { SallyportError } from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import { type DefinitionReview, PIN_STATES } from '../../pipeline/pipeline.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { looseObject } from './loose-object.ts'
import { callerOf, createRoutes, diffLineSchema, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

/** The current definition compared with the reviewed one. */
export const definitionSchema = z
  .object({
    now: z
      .string()
      .openapi({ description: 'The digest of the current definition; send it to accept that definition.' }),
    pin: z.string().optional().openapi({ description: 'The digest of the reviewed definition.' }),
    reviewed: looseObject.optional().openapi({ description: 'The reviewed definition, if it was stored.' }),
    changes: z
      .array(
        z.object({
          part: z.string(),
          lines: z.array(diffLineSchema),
        }),
      )
      .openapi({
        description: 'The differences, line by line. Everything, if the reviewed definition was not stored.',
      }),
  })
  .openapi('DefinitionReview')

type DefinitionView = z.infer<typeof definitionSchema>

export const definitionView = ({ now, pin, reviewed, changes }: DefinitionReview): DefinitionView => ({
  now,
  ...(pin !== undefined && { pin }),
  ...(reviewed && { reviewed }),
  changes: changes.map(({ part, lines }) => ({ part, lines: [...lines] })),
})

const KINDS = ['prompt', 'resource', 'template', 'instructions'] as const

const offerSchema = z
  .object({
    name: z.string().openapi({
      description:
        'In the form `server/prompts/name`, `server/resources/uri`, `server/templates/…` or `server/instructions`.',
    }),
    kind: z.enum(KINDS),
    server: z.string(),
    pin: z
      .enum(PIN_STATES)
      .openapi({ description: '`changed`: it differs from what was first seen or accepted, and is refused.' }),
    findings: z.array(z.string()).openapi({ description: 'What is suspicious about it.' }),
    openFindings: z
      .array(z.string())
      .openapi({ description: 'Findings that nobody has accepted yet: each use needs approval.' }),
  })
  .openapi('Offer')

const offerDetailSchema = offerSchema
  .extend({
    definition: looseObject.openapi({ description: 'As its server wrote it.' }),
    review: definitionSchema,
  })
  .openapi('OfferDetail')

export type OfferView = z.infer<typeof offerSchema>
export type OfferDetail = z.infer<typeof offerDetailSchema>

const listQuery = strictInput({
  server: z.string().optional(),
  pin: z
    .enum(['changed'])
    .optional()
    .openapi({ description: 'Only those that differ from what was first seen or accepted.' }),
})

const nameParam = strictInput({ name: z.string().max(5_000) })

const listOffers = createRoute({
  method: 'get',
  path: '/offers',
  summary: 'Prompts, resources, templates and instructions of all servers',
  request: { query: listQuery },
  responses: {
    200: jsonResponse(z.object({ offers: z.array(offerSchema) }), 'The matching ones.'),
    ...PROBLEM_RESPONSES,
  },
})

const getOffer = createRoute({
  method: 'get',
  path: '/offers/{name}',
  summary: 'One prompt, resource, template or instructions, and what changed since it was first seen or accepted',
  request: { params: nameParam },
  responses: { 200: jsonResponse(offerDetailSchema, 'Its definition and its review.'), ...PROBLEM_RESPONSES },
})

const acceptBody = strictInput({
  pin: z
    .string()
    .max(200)
    .openapi({ description: '`review.now` of the definition that was shown to the person who accepts it.' }),
  via: viaField,
})

const acceptOffer = createRoute({
  method: 'post',
  path: '/offers/{name}/accept',
  summary: 'Accept the current definition and its findings',
  request: { params: nameParam, body: { required: true, content: { 'application/json': { schema: acceptBody } } } },
  responses: { 200: jsonResponse(offerDetailSchema, 'Its state after the change.'), ...PROBLEM_RESPONSES },
})

export const offerRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listOffers, async (c) => {
      await waitForServers(context)
      const { server, pin } = c.req.valid('query')
      const all = context.review.otherOffers().filter((offer) => server === undefined || offer.server === server)
      const offers = all.map((offer) => offerView(context, offer)).filter((view) => !pin || view.pin === pin)
      return c.json({ offers }, 200)
    })
    .openapi(getOffer, async (c) =>
      c.json(offerDetail(context, await findOffer(context, c.req.valid('param').name)), 200),
    )
    .openapi(acceptOffer, async (c) => {
      const offer = await findOffer(context, c.req.valid('param').name)
      const { pin: shown, via } = c.req.valid('json')
      await context.review.accept(offer, { shown, via, by: callerOf(c.env).user })
      return c.json(offerDetail(context, offer), 200)
    })

async function findOffer(context: AdminContext, name: string): Promise<Offer> {
  await waitForServers(context)
  const offer = context.review.otherOffers().find((candidate) => reviewName(candidate) === name)
  if (offer !== undefined) return offer
  throw new SallyportError('RESOURCE_UNKNOWN', `No server offers "${name}".`, {
    hint: 'Names are server/prompts/name, server/resources/uri, server/templates/uriTemplate and server/instructions.',
  })
}

function offerView({ review }: AdminContext, offer: Offer): OfferView {
  const { pin, findings, openFindings } = review.reviewOf(offer)
  const { server } = offer
  const kind = offer.kind as OfferView['kind']
  return { name: reviewName(offer), kind, server, pin, findings: [...findings], openFindings: [...openFindings] }
}

const offerDetail = (context: AdminContext, offer: Offer): OfferDetail => ({
  ...offerView(context, offer),
  definition: offer.original,
  review: definitionView(context.review.definitionOf(offer)),
})
