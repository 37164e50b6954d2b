import { z } from 'zod';

/** Query parameters that select a page of a list, at most 500 rows. The response sends the total count in the header `X-Total-Count`. */
export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50).meta({ description: 'Maximum number of rows.' }),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0).meta({ description: 'Number of rows to skip.' }),
});
