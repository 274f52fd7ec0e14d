import XCTest
@testable import Tally

final class PrimesCacheTests: XCTestCase {
    func testAKnownPlaceIsNotComputedAgain() {
        let primes = Primes()
        XCTAssertEqual(primes.prime(at: 10), 29)
        let tried = primes.tried
        XCTAssertGreaterThan(tried, 0)
        XCTAssertEqual(primes.prime(at: 10), 29)
        XCTAssertEqual(primes.prime(at: 3), 5)
        XCTAssertEqual(primes.tried, tried)
    }

    func testALaterPlaceGoesOnFromTheLastOne() {
        let primes = Primes()
        XCTAssertEqual(primes.prime(at: 4), 7)
        let tried = primes.tried
        XCTAssertEqual(primes.prime(at: 5), 11)
        XCTAssertEqual(primes.tried, tried + 4)
    }
}
