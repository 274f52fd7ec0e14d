/// Numbers of a series that are expensive to compute.
final class Primes {
    /// How many numbers were tried so far.
    private(set) var tried = 0

    /// The prime number at this place; the first one is 2, at place 1.
    func prime(at place: Int) -> Int {
        var found = 0
        var number = 1
        while found < place {
            number += 1
            tried += 1
            if isPrime(number) {
                found += 1
            }
        }
        return number
    }

    private func isPrime(_ number: Int) -> Bool {
        var divisor = 2
        while divisor * divisor <= number {
            if number % divisor == 0 {
                return false
            }
            divisor += 1
        }
        return true
    }
}
