import XCTest
@testable import Tally

final class PrimesTests: XCTestCase {
    func testTheFirstPrimes() {
        let primes = Primes()
        XCTAssertEqual(primes.prime(at: 1), 2)
        XCTAssertEqual(primes.prime(at: 6), 13)
    }
}
