import type { Deployment } from './model-routing.ts'

const FAILURES_TO_OPEN = 3
const OPEN_MS = 30_000

interface Circuit {
  failures: number
  openUntil: number
}

/**
 * Remembers which deployments failed, so that others come first for a while. Where there is no other, a deployment
 * is tried all the same: refusing would help nobody.
 */
export class Circuits {
  readonly #circuits = new Map<string, Circuit>()

  /** Those that work before those that failed, otherwise in their order. */
  order(deployments: readonly Deployment[]): readonly Deployment[] {
    if (deployments.length < 2 || this.#circuits.size === 0) return deployments
    const now = performance.now()
    const isOpen = (deployment: Deployment): boolean =>
      (this.#circuits.get(keyOf(deployment))?.openUntil ?? 0) > now
    return [...deployments.filter((one) => !isOpen(one)), ...deployments.filter(isOpen)]
  }

  succeeded(deployment: Deployment): void {
    if (this.#circuits.size > 0) this.#circuits.delete(keyOf(deployment))
  }

  /** @param retryAfterSeconds what the backend asked for: it is left alone for so long, at most as a broken one */
  failed(deployment: Deployment, retryAfterSeconds: number | undefined): void {
    const key = keyOf(deployment)
    const circuit = this.#circuits.get(key) ?? { failures: 0, openUntil: 0 }
    circuit.failures += 1
    const openMs =
      circuit.failures >= FAILURES_TO_OPEN ? OPEN_MS : Math.min((retryAfterSeconds ?? 0) * 1000, OPEN_MS)
    circuit.openUntil = Math.max(circuit.openUntil, performance.now() + openMs)
    this.#circuits.set(key, circuit)
  }
}

const keyOf = ({ backend, model }: Deployment): string => `${backend.name} ${model}`
