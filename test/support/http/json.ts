import type { z } from 'zod';

/** Returns the JSON body of a response, validated by its schema. */
export async function jsonOf<Shape extends z.ZodType>(response: Response | Promise<Response>, shape: Shape): Promise<z.output<Shape>> {
  return shape.parse(await (await response).json());
}
