import type { z } from 'zod';

/** The JSON of a response, checked by the schema that it is declared with. */
export async function bodyOf<Shape extends z.ZodType>(response: Response | Promise<Response>, shape: Shape): Promise<z.output<Shape>> {
  return shape.parse(await (await response).json());
}
